"""Tests of the event-stream contract."""
