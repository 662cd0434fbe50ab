"""Guards against a hollow proof: rules broken one at a time, each to be caught by a model of the whole.

`tables` breaks the declared tables mechanically, `rules` the hand-written models by a list. `courts`
says on which models, at which bounds, a mutant is judged; `judging` judges; `survivors` argues for
those that no property objects to.
"""
