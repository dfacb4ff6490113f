"""What users pass, and large temporary arrays: validation, files of rows, memory, scratch files."""
