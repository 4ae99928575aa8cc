"""Where layers lie in a segment: one after the other, keys before values, and the same object for equal networks."""

from boostr.state import KVSpec, StateSpec

SPEC = StateSpec((KVSpec(2, 8, 4), KVSpec(1, 3, 5)))


def test_blocks_follow_one_another() -> None:
    layout = SPEC.kv_layout("float16")
    first, second = layout.layers
    assert (first.k_offset, first.v_offset) == (0, 2 * 8 * 2)
    assert (second.k_offset, second.v_offset) == (2 * (8 + 4) * 2, 2 * (8 + 4) * 2 + 3 * 2)
    assert layout.token_bytes == second.v_offset + 5 * 2
    assert (second.kv_heads, second.k_dim, second.v_dim) == (1, 3, 5)


def test_equal_specs_share_one_layout() -> None:
    again = StateSpec((KVSpec(2, 8, 4), KVSpec(1, 3, 5)))
    assert again.kv_layout("float32") is SPEC.kv_layout("float32")
    assert SPEC.kv_layout("float32").token_bytes == 2 * SPEC.kv_layout("float16").token_bytes
