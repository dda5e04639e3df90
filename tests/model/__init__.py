"""The model test: one request at a time, and every reply compared with a model of the contract."""
