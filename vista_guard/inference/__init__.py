"""Running the shipped models: sessions of onnxruntime, and the queue before them."""
