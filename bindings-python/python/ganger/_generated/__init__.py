# Generated from the tables in core/src by `UPDATE=1 cargo test -p ganger --test codegen`; edit those.
"""What derives from the tables of the core."""
