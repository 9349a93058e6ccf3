"""Playing a scene from file to result. Start with player.py."""
