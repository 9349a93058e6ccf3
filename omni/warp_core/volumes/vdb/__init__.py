"""Files of OpenVDB: their grids as arrays and as grid buffers, and grid buffers as files. Start with `vdb_file`."""
