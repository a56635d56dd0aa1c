"""The service: rankers over HTTP, their log, their reports and a dashboard."""
