"""Our own methods: one table, read by both doors."""
