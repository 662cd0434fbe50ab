"""The declaration language, and the machines of the weight-sync protocol declared in it."""

from .compiler import Outcome
from .containers import MapOf, Opt, SeqOf, SetOf, none
from .expressions import Bool, EnumOf, Id, Nat, Note, either
from .imported import from_transitions
from .ir import Ir, Scope
from .machine import Event, Inside, Machine, Output
from .problems import DeclarationError, Problem
from .properties import always, leads_to, never, reachable
from .records import Record
from .table import Refuse, State, Table, choose, columns, fence, go, ignore, row, stay

__all__ = [
    "Bool",
    "DeclarationError",
    "EnumOf",
    "Event",
    "Id",
    "Inside",
    "Ir",
    "Machine",
    "MapOf",
    "Nat",
    "Note",
    "Opt",
    "Outcome",
    "Output",
    "Problem",
    "Record",
    "Refuse",
    "Scope",
    "SeqOf",
    "SetOf",
    "State",
    "Table",
    "always",
    "choose",
    "columns",
    "either",
    "fence",
    "from_transitions",
    "go",
    "ignore",
    "leads_to",
    "never",
    "none",
    "reachable",
    "row",
    "stay",
]
