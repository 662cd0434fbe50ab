"""Small models and tokenizers for runs that start from nothing: an ordinary Hugging Face folder each."""

from .chars import ALPHABET, CharTokenizer
from .tiny import make_tiny_qwen3, save_model_folder

__all__ = ["ALPHABET", "CharTokenizer", "make_tiny_qwen3", "save_model_folder"]
