local notices = require('ullage.notices')
local paths = require('ullage.paths')

local FORMATS = { 'ullage', 'anthropic', 'openai' }

local function show(text, format)
  vim.cmd('botright new')
  local buffer = vim.api.nvim_get_current_buf()
  vim.bo[buffer].buftype, vim.bo[buffer].bufhidden, vim.bo[buffer].swapfile = 'nofile', 'wipe', false
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(text, '\n', { plain = true, trimempty = true }))
  vim.bo[buffer].filetype = format == 'ullage' and 'jsonl' or 'json'
end

local function write(text, path)
  local full = paths.full(path)
  local file, fault = io.open(full, 'w')
  if not file then
    notices.error(('Cannot write %s.'):format(fault))
    return
  end
  file:write(text)
  file:close()
  notices.say('Exported to ' .. vim.fn.fnamemodify(full, ':~:.'))
end

---@type ullage.Command
return {
  summary = 'Export the session to a file or, without one, to a buffer',
  run = function(words)
    local format, path = words:match('^(%S+)%s*(.*)$')
    if not vim.tbl_contains(FORMATS, format) then
      format, path = 'ullage', words
    end
    require('ullage.session').request('session/export', { format = format }, function(error, result)
      if notices.failed(error) then
        return
      elseif path == '' then
        show(result.text, format)
      else
        write(result.text, path)
      end
    end)
  end,
  complete = function(lead, words)
    local first = not words:find('%s')
    return vim.list_extend(first and vim.deepcopy(FORMATS) or {}, paths.complete(lead))
  end,
}
