"""The data plane: hand-written proto files and the stubs that `sluicegate generate` makes of them."""
