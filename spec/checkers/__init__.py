"""Two independent checkers of TLA+ models behind one form: tla-checker for safety, TLC for all.

`Model.load(path, Config(...))` reads a model; `tla_checker.check(model)` and `tlc.check(model)` give
a `CheckResult`; `graph(model)` of either gives the whole reached state graph by content.
"""

from .model import DEADLOCK, CheckerMissing, CheckResult, Config, Graph, Model, Step

__all__ = ["DEADLOCK", "CheckResult", "CheckerMissing", "Config", "Graph", "Model", "Step"]
