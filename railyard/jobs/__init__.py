"""Run one job, without ReFrame: stage directory, schedule of launches, launcher files, evidence."""
