"""Running models: onnxruntime sessions, and the queue before them.

`onnx` runs the shipped models, `local_models` and `torch_models` those that users bring, `hub` finds and downloads them,
`batching` is the queue that all models of the process share.
"""
