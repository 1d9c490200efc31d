"""What an error's text says, as data: the chain of its causes. Who is at fault and what to do is diagnosis."""

from jupyter_streamwatch.model.errors.chain import Cause, Frame, causes_of, last_of, said

__all__ = ["Cause", "Frame", "causes_of", "last_of", "said"]
