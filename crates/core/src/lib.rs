//! Shadow Git repository of one directory: save, compare and bring back its states.
