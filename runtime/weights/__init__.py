"""Weights on their way from a trainer to an engine: manifests, digests, roads and staging.

Manifests are read where there is no torch: it is imported only by what touches a tensor.
"""

from .digest import canonical_tensors, digest_of, tensor_digest
from .manifest import Bucket, Manifest, ManifestError, ManifestStore, Piece, TensorEntry
from .shm import ShmPublisher, ShmReader, remove_run
from .staging import BucketSource, Staging, WeightsError, stage_from

__all__ = [
    "Bucket",
    "BucketSource",
    "Manifest",
    "ManifestError",
    "ManifestStore",
    "Piece",
    "ShmPublisher",
    "ShmReader",
    "Staging",
    "TensorEntry",
    "WeightsError",
    "canonical_tensors",
    "digest_of",
    "remove_run",
    "stage_from",
    "tensor_digest",
]
