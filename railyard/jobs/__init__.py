"""What one job does, without ReFrame: stage directory, schedule of launches, launcher files, evidence."""
