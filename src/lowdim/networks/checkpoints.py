"""Checkpoints of a training: a file of arrays from which it goes on as if never interrupted."""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from lowdim.atomic import replacing
from lowdim.checks import Array
from lowdim.networks.weights import arrays_of, load_arrays

if TYPE_CHECKING:
    from lowdim.networks.training import Progress

MOMENTS = ("exp_avg", "exp_avg_sq", "step")  # the state of Adam for each parameter


@dataclass(frozen=True)
class Checkpoint:
    """A file with weights, moments and progress; written by NumPy without pickle.

    Attributes
    ----------
    path : str
    identity : dict
        Data and parameters of the training. A file of another training is an error.
    """

    path: str
    identity: dict[str, Any]

    @property
    def exists(self) -> bool:
        """Whether there is a file to go on from."""
        return os.path.exists(self.path)

    def save(
        self, network: nn.Module, optimizer: Any, progress: Progress, best: dict[str, Array]
    ) -> None:
        """Replace the file."""
        document = json.dumps({"identity": self.identity, "progress": asdict(progress)})
        arrays = {"document": np.frombuffer(document.encode(), np.uint8)}
        arrays |= {f"now {k}": v for k, v in arrays_of(network).items()}
        arrays |= {f"best {k}": v for k, v in best.items()}
        for number, parameter in enumerate(optimizer.param_groups[0]["params"]):
            for name in MOMENTS:
                moment = optimizer.state[parameter][name]
                arrays[f"{name} {number}"] = moment.detach().cpu().numpy()
        with replacing(self.path, force=True) as temporary, open(temporary, "wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]  # all keywords are arrays

    def load(
        self, network: nn.Module, optimizer: Any, progress: Progress, best: dict[str, Array]
    ) -> tuple[Progress, dict[str, Array]]:
        """Set network and optimizer to the state of the file; returns progress and best weights.

        Without a file, those given are returned.
        """
        if not self.exists:
            return progress, best
        try:
            with np.load(self.path, allow_pickle=False) as file:
                arrays = dict(file)
            document = json.loads(arrays.pop("document").tobytes())
        except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(
                f"checkpoint: {self.path} is not a checkpoint of lowdim ({error}). Remove it, or "
                "choose another file."
            ) from error
        if document["identity"] != self.identity:
            known = {*document["identity"], *self.identity}
            odd = sorted(k for k in known if document["identity"].get(k) != self.identity.get(k))
            raise ValueError(
                f"checkpoint: {self.path} is that of another fit, with other {', '.join(odd)}. "
                "Remove it, or choose another file."
            )
        load_arrays(network, {k[4:]: v for k, v in arrays.items() if k.startswith("now ")})
        for number, parameter in enumerate(optimizer.param_groups[0]["params"]):
            optimizer.state[parameter] = {
                name: torch.as_tensor(arrays[f"{name} {number}"]).to(
                    parameter.device if name != "step" else "cpu"
                )
                for name in MOMENTS
            }
        for name, value in document["progress"].items():
            setattr(progress, name, [tuple(x) for x in value] if name == "history" else value)
        return progress, {k[5:]: v for k, v in arrays.items() if k.startswith("best ")}
