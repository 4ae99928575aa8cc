"""Carries out the few pickle instructions that a `torch.save` file of plain values needs; any other is refused.

Python's own unpickler is not used: its instructions can set attributes of what they are given, fill a table of any
size, and hash values nested deep enough to end the process. Here a value is a number, a text, a list, a tuple, a dict
or what the caller makes of a name, and work and memory are in proportion to the program's length. Knows no files.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from boostr.errors import FormatError

__all__ = ["Function", "OrderedValues", "run_pickle"]

Fault = Callable[[str], FormatError]
Names = Mapping[str, Any]

_PROTOCOL_2 = b"\x80\x02"
_LONGEST_NAME = 200


class OrderedValues(dict[Any, Any]):
    """What collections.OrderedDict becomes."""


@dataclass(frozen=True, slots=True)
class Function:
    """A name that a program may call. Nothing else is ever called."""

    call: Callable[[tuple[Any, ...]], Any]


def run_pickle(program: bytes, names: Names, persistent: Callable[[Any], Any], fault: Fault) -> Any:
    """The value that a protocol 2 program leaves.

    names       what "module name" stands for; a program that asks for another name is refused
    persistent  a value for a persistent id, which may be any value
    fault       makes the FormatError of what is wrong, naming the file
    """
    return _Machine(program, names, persistent, fault).run()


class _Machine:
    def __init__(self, program: bytes, names: Names, persistent: Callable[[Any], Any], fault: Fault) -> None:
        self.program = program
        self.names = names
        self.persistent = persistent
        self.fault = fault
        self.at = 0
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        if self.take(2) != _PROTOCOL_2:
            raise self.fault("its pickle is not of protocol 2, which torch.save writes")
        while (code := self.take(1)) != b".":
            step = _STEPS.get(code)
            if step is None:
                raise self.fault(f"its pickle uses {_instruction(code)}, which no such file needs")
            step(self)
        value = self.pop()
        if self.stack or self.marks or self.at != len(self.program):
            raise self.fault("its pickle is damaged: it ends with values or instructions left over")
        return value

    def take(self, count: int) -> bytes:
        taken = self.program[self.at : self.at + count]
        if len(taken) != count:
            raise self.fault("its pickle is damaged: it is cut off")
        self.at += count
        return taken

    def whole(self, layout: str) -> int:
        number: int = struct.unpack(layout, self.take(struct.calcsize(layout)))[0]
        return number

    def line(self) -> str:
        end = self.program.find(b"\n", self.at, self.at + _LONGEST_NAME)
        if end < 0:
            raise self.fault("its pickle is damaged: a name does not end")
        text = self.take(end - self.at).decode("ascii", "backslashreplace")
        self.at += 1
        return text

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop(self) -> Any:
        self.top()
        return self.stack.pop()

    def top(self) -> Any:
        """The value on top, of those behind the last mark."""
        if len(self.stack) <= (self.marks[-1] if self.marks else 0):
            raise self.fault("its pickle is damaged: an instruction lacks its operand")
        return self.stack[-1]

    def pop_to_mark(self) -> list[Any]:
        if not self.marks:
            raise self.fault("its pickle is damaged: an instruction lacks its mark")
        start = self.marks.pop()
        values = self.stack[start:]
        del self.stack[start:]
        return values


def _instruction(code: bytes) -> str:
    import pickletools  # for the name in the message

    return next((each.name for each in pickletools.opcodes if each.code.encode("latin-1") == code), repr(code))


def _mark(machine: _Machine) -> None:
    machine.marks.append(len(machine.stack))


def _long(machine: _Machine) -> None:
    machine.push(int.from_bytes(machine.take(machine.whole("<B")), "little", signed=True))


def _float(machine: _Machine) -> None:
    machine.push(struct.unpack(">d", machine.take(8))[0])


def _text(machine: _Machine) -> None:
    try:
        machine.push(machine.take(machine.whole("<I")).decode())
    except UnicodeDecodeError as error:
        raise machine.fault("its pickle is damaged: a text is not UTF-8") from error


def _tuple_of(count: int) -> Callable[[_Machine], None]:
    def step(machine: _Machine) -> None:
        values = [machine.pop() for _ in range(count)]
        machine.push(tuple(reversed(values)))

    return step


def _tuple(machine: _Machine) -> None:
    values = machine.pop_to_mark()
    machine.push(tuple(values))


def _append(machine: _Machine) -> None:
    _extend(machine, [machine.pop()])


def _appends(machine: _Machine) -> None:
    _extend(machine, machine.pop_to_mark())


def _extend(machine: _Machine, values: list[Any]) -> None:
    target = machine.top()
    if type(target) is not list:
        raise machine.fault("its pickle appends to what is no list")
    target.extend(values)


def _set_item(machine: _Machine) -> None:
    value = machine.pop()
    _update(machine, [machine.pop(), value])


def _set_items(machine: _Machine) -> None:
    _update(machine, machine.pop_to_mark())


def _update(machine: _Machine, values: list[Any]) -> None:
    target = machine.top()
    if type(target) not in (dict, OrderedValues) or len(values) % 2:
        raise machine.fault("its pickle sets an item of what is no dict, or half an item")
    for key, value in zip(values[::2], values[1::2], strict=True):
        if not _is_key(key):
            raise machine.fault("its pickle holds a dict whose keys are neither texts nor small numbers")
        target[key] = value


def _is_key(key: Any) -> bool:
    """Whether it can be hashed in little time, however many of its kind there are: long numbers can all collide."""
    return type(key) in (str, float, bool, type(None)) or (type(key) is int and abs(key) < 1 << 32)


def _put(layout: str) -> Callable[[_Machine], None]:
    def step(machine: _Machine) -> None:
        machine.memo[machine.whole(layout)] = machine.top()

    return step


def _get(layout: str) -> Callable[[_Machine], None]:
    def step(machine: _Machine) -> None:
        index = machine.whole(layout)
        if index not in machine.memo:
            raise machine.fault(f"its pickle is damaged: it asks for value {index}, which it has not kept")
        machine.push(machine.memo[index])

    return step


def _global(machine: _Machine) -> None:
    module, name = machine.line(), machine.line()
    if f"{module} {name}" not in machine.names:
        known = ", ".join(each.replace(" ", ".") for each in machine.names)
        raise machine.fault(f"its pickle asks for {module}.{name}, which is refused and not run; known are {known}")
    machine.push(machine.names[f"{module} {name}"])


def _reduce(machine: _Machine) -> None:
    given, function = machine.pop(), machine.pop()
    if type(function) is not Function or type(given) is not tuple:
        raise machine.fault("its pickle calls what is no function")
    machine.push(function.call(given))


def _build(machine: _Machine) -> None:
    """Modules leave {"_metadata": ...} on their OrderedDict; it is not needed."""
    state = machine.pop()
    if type(machine.top()) is not OrderedValues or type(state) is not dict or list(state) != ["_metadata"]:
        raise machine.fault("its pickle gives a state to what has none")


def _persistent(machine: _Machine) -> None:
    machine.push(machine.persistent(machine.pop()))


def _number(layout: str) -> Callable[[_Machine], None]:
    return lambda machine: machine.push(machine.whole(layout))


_STEPS: dict[bytes, Callable[[_Machine], None]] = {
    b"(": _mark,
    b"N": lambda machine: machine.push(None),
    b"\x88": lambda machine: machine.push(True),
    b"\x89": lambda machine: machine.push(False),
    b"J": _number("<i"),
    b"K": _number("<B"),
    b"M": _number("<H"),
    b"\x8a": _long,
    b"G": _float,
    b"X": _text,
    b"}": lambda machine: machine.push({}),
    b"]": lambda machine: machine.push([]),
    b")": lambda machine: machine.push(()),
    b"t": _tuple,
    b"\x85": _tuple_of(1),
    b"\x86": _tuple_of(2),
    b"\x87": _tuple_of(3),
    b"a": _append,
    b"e": _appends,
    b"s": _set_item,
    b"u": _set_items,
    b"q": _put("<B"),
    b"r": _put("<I"),
    b"h": _get("<B"),
    b"j": _get("<I"),
    b"c": _global,
    b"R": _reduce,
    b"b": _build,
    b"Q": _persistent,
}
