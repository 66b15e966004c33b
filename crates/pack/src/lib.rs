//! Git pack and idx files: write, merge, look up, stream an undeltified entry.
