"""Generation: sampling parameters and chain, output streams, the decode loop, and the loaded LanguageModel."""

from boostr.generate.output import FinishReason, OutputStream, Piece
from boostr.generate.params import SamplingParams
from boostr.generate.sampler import Sampled, Sampler
from boostr.generate.stop import StopMatcher

__all__ = ["FinishReason", "OutputStream", "Piece", "Sampled", "Sampler", "SamplingParams", "StopMatcher"]
