//! One checkpoint service per process: open stores, workspaces, prune.
