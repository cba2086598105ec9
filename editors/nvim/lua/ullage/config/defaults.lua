---@type ullage.Config
return {
  cmd = nil,
  store = nil,
  resume = true,
  -- Only what differs from the server's own defaults (`ullage.generated`) is sent.
  settings = {},
  context = { open = 'vsplit' },
  statusline = { done_seconds = 6 },
  notices = { level = 'info', choices = 'command' },
  -- As language clients of other editors do: a server that keeps failing is not started for ever.
  recovery = { attempts = 4, seconds = 180 },
}
