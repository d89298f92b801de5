"""Turn records into statistics, figures and the report."""
