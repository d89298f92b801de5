"""Write the page, the summary and the exports."""
