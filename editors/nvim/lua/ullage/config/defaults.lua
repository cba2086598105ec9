---@type ullage.Config
return {
  cmd = nil,
  store = nil,
  resume = true,
  follow = nil,
  -- Only settings that differ from the server's own defaults are sent.
  settings = {},
  context = { open = 'vsplit', keys = true },
  statusline = { done_seconds = 6, start = true, quiet = false },
  notices = { level = 'info' },
  -- As in other editors' language clients, a server that keeps failing is not restarted for ever.
  recovery = { attempts = 4, seconds = 180 },
}
