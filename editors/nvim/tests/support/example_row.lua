-- A row of the live file, as the follower writes it.

---Returns a row with these fields in place of its own.
---@param fields? table
---@return table
return function(fields)
  return vim.tbl_extend('force', {
    session_id = 's1',
    agent = 'Claude Code',
    agent_short = 'CC',
    compact_command = '/compact',
    takes_focus = true,
    agent_session_id = 'a1',
    title = 'Add token refresh',
    cwd = '/project',
    path = '/home/ann/.claude/projects/-project/a1.jsonl',
    live = true,
    used = 92000,
    used_source = 'reported',
    window = 200000,
    window_source = 'agent',
    compacts_at = 110000,
    compacts_at_source = 'rule',
    calls_left = { 20, 31 },
    updated_at = os.time() * 1000,
    process_id = vim.NIL,
  }, fields or {})
end
