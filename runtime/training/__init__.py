"""Training on samples that carry their behaviour: policy optimisation, and a DeepSpeed trainer."""
