"""The structure of a model without its weights: from a folder's config alone, every tensor of it zero.

Rules of this file:

- No weights are read, and none are made at random: what is not installed yet cannot be served by mistake.
- Buffers that no version carries (frequencies of rotary embeddings, scales) have their real values, since the
  model's own code computes them.
"""

from __future__ import annotations

import contextlib
import mmap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM

_BUILDING = threading.Lock()


def build(folder: Path, device: torch.device, dtype: torch.dtype, attention: str) -> Any:
    """The causal language model of `folder` on `device`, zeroed. Raises ValueError, OSError, RuntimeError."""
    config = AutoConfig.from_pretrained(folder, local_files_only=True)
    with _parameters_without_memory():
        model: Any = AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation=attention)
    zeroed: dict[int, torch.nn.Parameter] = {}
    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is not None:
                # A tied one stays tied.
                made = zeroed.get(id(parameter))
                if made is None:
                    made = torch.nn.Parameter(zeros(parameter.shape, parameter.dtype, device), requires_grad=False)
                    zeroed[id(parameter)] = made
                module._parameters[name] = made
        for name, buffer in module._buffers.items():
            if buffer is not None and name not in module._non_persistent_buffers_set:
                buffer.zero_()
    return model.to(device)


def zeros(shape: torch.Size, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Zeros; on the host, of memory that the system gives once it is written: a start takes none for them."""
    size = shape.numel() * dtype.itemsize
    if device.type != "cpu" or size < mmap.PAGESIZE:
        return torch.zeros(shape, dtype=dtype, device=device)
    return torch.frombuffer(mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), dtype=dtype).view(shape)


@contextlib.contextmanager
def _parameters_without_memory() -> Iterator[None]:
    """Modules that are made inside, by this thread or another, have parameters that are shapes only."""
    register = torch.nn.Module.register_parameter

    def without_memory(self: torch.nn.Module, name: str, param: torch.nn.Parameter | None) -> None:
        register(self, name, param)
        if param is not None and not param.is_meta:
            self._parameters[name] = torch.nn.Parameter(param.to("meta"), requires_grad=False)

    with _BUILDING:
        torch.nn.Module.register_parameter = without_memory
        try:
            yield
        finally:
            torch.nn.Module.register_parameter = register
