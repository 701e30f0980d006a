"""Running a training: one resumable loop, and the trainer that descends on minibatches."""
