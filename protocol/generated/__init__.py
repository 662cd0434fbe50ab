"""Made by `sluicegate generate`: proto files, their stubs, and one service module per machine."""
