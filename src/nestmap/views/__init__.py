"""What looks at maps: scores, pictures, the explorer."""
