"""Pictures of stages and volumes. Start with preview.py."""
