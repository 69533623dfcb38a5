"""What is audited: optimizers and studies in small configurations, mechanisms and channels alone; all that ships."""
