---@type ullage.Command
return {
  summary = 'Show what happened, and what the server wrote to its log',
  run = function()
    local journal = require('ullage.journal')
    local found = require('ullage.server').find()
    local lines = vim.list_extend({ 'Events', '' }, journal.lines())
    vim.list_extend(lines, { '', 'Server', '' })
    vim.list_extend(lines, journal.server_lines(found and found.cmd[1] or 'ullage'))
    vim.cmd('botright new')
    local buffer = vim.api.nvim_get_current_buf()
    vim.bo[buffer].buftype, vim.bo[buffer].bufhidden, vim.bo[buffer].swapfile = 'nofile', 'wipe', false
    vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
    vim.bo[buffer].modifiable = false
    vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = buffer, nowait = true, desc = 'Close' })
  end,
}
