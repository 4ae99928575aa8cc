"""Every Prometheus metric, declared in one place on one registry per server. Knows no model and no HTTP framework.

Labels are bounded: `path` is a route template, `model` a name that resolved to a loaded model.
"""

from contextlib import suppress

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

__all__ = ["Metrics"]

disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series per counter, which nobody reads

_REQUEST_BUCKETS = (0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_FIRST_TOKEN_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60)
_TOKEN_GAP_BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2)
_RATE_BUCKETS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


class Metrics:
    """The metrics of one server. Two servers in one process have two registries."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._declare_http(self.registry)
        self._declare_generation(self.registry)
        self._declare_lifecycle(self.registry)

    def _declare_http(self, registry: CollectorRegistry) -> None:
        self.requests = Counter("blazr_requests", "HTTP requests received", ["method", "path"], registry=registry)
        self.requests_active = Gauge("blazr_requests_active", "HTTP requests being answered", registry=registry)
        self.request_duration = Histogram(
            "blazr_request_duration_seconds",
            "Time from request to the last byte of the answer",
            ["method", "path", "status"],
            buckets=_REQUEST_BUCKETS,
            registry=registry,
        )
        # generation

    def _declare_generation(self, registry: CollectorRegistry) -> None:
        self.tokens_prompted = Counter(
            "blazr_tokens_prompted", "Prompt tokens run through a model", ["model"], registry=registry
        )
        self.tokens_generated = Counter(
            "blazr_tokens_generated", "Tokens drawn from a model", ["model"], registry=registry
        )
        self.generations = Counter(
            "blazr_generations",
            "Generations ended, by outcome: completed, cancelled, timeout, refused or failed",
            ["model", "outcome"],
            registry=registry,
        )
        self.time_to_first_token = Histogram(
            "blazr_time_to_first_token_seconds",
            "Time from submission to the first token",
            ["model"],
            buckets=_FIRST_TOKEN_BUCKETS,
            registry=registry,
        )
        self.inter_token_latency = Histogram(
            "blazr_inter_token_latency_seconds",
            "Time between two tokens of one sequence",
            ["model"],
            buckets=_TOKEN_GAP_BUCKETS,
            registry=registry,
        )
        self.tokens_per_second = Histogram(
            "blazr_tokens_per_second",
            "Decode speed of one request, all its choices together",
            ["model"],
            buckets=_RATE_BUCKETS,
            registry=registry,
        )
        self.inflight_tokens = Gauge(
            "blazr_inflight_tokens",
            "Prompt tokens plus the most that may be generated, admitted and unfinished",
            ["model"],
            registry=registry,
        )
        self.queue_depth = Gauge(
            "blazr_queue_depth", "Requests waiting for their prompt to begin", ["model"], registry=registry
        )
        self.active_decode_slots = Gauge(
            "blazr_active_decode_slots", "Sequences decoding now", ["model"], registry=registry
        )
        self.token_budget_utilization = Gauge(
            "blazr_token_budget_utilization_ratio",
            "Share of the last step's prompt-token budget that was used",
            ["model"],
            registry=registry,
        )

    def _declare_lifecycle(self, registry: CollectorRegistry) -> None:
        self.models_loaded = Gauge("blazr_models_loaded", "Models in memory", registry=registry)
        self.models_available = Gauge(
            "blazr_scheduler_models_available", "Models that could be loaded by name", registry=registry
        )
        self.loads = Counter("blazr_scheduler_loads", "Models loaded", registry=registry)
        self.evictions = Counter(
            "blazr_scheduler_evictions", "Models unloaded to make room or after their keep-alive", registry=registry
        )

    def forget_model(self, model: str) -> None:
        """Drop the gauges of a model that is no longer loaded; its counters stay."""
        for gauge in (
            self.inflight_tokens,
            self.queue_depth,
            self.active_decode_slots,
            self.token_budget_utilization,
        ):
            with suppress(KeyError):  # a lane that never ran a step has set only some of them
                gauge.remove(model)
