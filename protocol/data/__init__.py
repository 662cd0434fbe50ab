"""The data plane: hand-written proto files; their stubs stand with the generated ones."""
