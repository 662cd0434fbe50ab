"""Weights on their way from a trainer to an engine: manifests, digests, roads and staging.

Manifests are read where there is no torch: it is imported only by what touches a tensor.
"""

from .config import WeightsConfig
from .digest import canonical_tensors, digest_of, tensor_digest
from .manifest import Bucket, Manifest, ManifestError, ManifestStore, Piece, TensorEntry
from .mapping import OutOfReach
from .opening import WeightSource, WeightStore, open_source, open_store
from .packing import tally
from .shm import ShmPublisher, ShmReader, remove_run
from .staging import BucketSource, Staging, WeightsError, stage_from

__all__ = [
    "Bucket",
    "BucketSource",
    "Manifest",
    "ManifestError",
    "ManifestStore",
    "OutOfReach",
    "Piece",
    "ShmPublisher",
    "ShmReader",
    "Staging",
    "TensorEntry",
    "WeightSource",
    "WeightStore",
    "WeightsConfig",
    "WeightsError",
    "canonical_tensors",
    "digest_of",
    "open_source",
    "open_store",
    "remove_run",
    "stage_from",
    "tally",
    "tensor_digest",
]
