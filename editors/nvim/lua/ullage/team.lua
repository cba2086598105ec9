-- What a search of the team's archive finds, in a window.
local rows = require('ullage.context.rows')
local words = require('ullage.words')

local M = {}

local namespace = vim.api.nvim_create_namespace('ullage.team')
local NAME = 'ullage://team'
local WINDOW = { wrap = true, linebreak = true, breakindent = true, number = false, relativenumber = false }

---@param pieces ullage.LinePiece[]
local function line(pieces)
  local text, spans = rows.join(pieces)
  return { text = text, spans = spans }
end

---Returns others' words as one line.
---@param text string
local function flat(text)
  return vim.trim((text:gsub('%s+', ' ')))
end

---Returns the lines of the list: for each hit whose it is, from which folder and conversation, then the text.
---@param query string
---@param result ullage.TeamSearchResult
---@return { text: string, spans: ullage.Span[] }[]
function M.lines(query, result)
  local found = ('%d found in the team’s archive: %s'):format(#result.hits, flat(query))
  local list = { line({ { found, 'UllageTitle' } }), line({ { 'q closes', 'UllageMuted' } }) }
  for _, hit in ipairs(result.hits) do
    list[#list + 1] = line({ { '' } })
    list[#list + 1] = line({
      { ('%s  %s'):format(flat(hit.owner), flat(hit.folder)), 'UllageTitle' },
      { '  ' .. flat(hit.title) },
      { ('  %s %s'):format(words.number(hit.index), flat(hit.role)), 'UllageTokens' },
    })
    for text in vim.gsplit(hit.text, '\n', { plain = true }) do
      list[#list + 1] = line({ { '  ' .. text:gsub('[%c]', ' ') } })
    end
  end
  return list
end

---Opens the list, below.
---@param query string
---@param result ullage.TeamSearchResult
function M.show(query, result)
  local list = M.lines(query, result)
  local old = vim.fn.bufnr('^' .. NAME .. '$')
  if old ~= -1 then
    vim.api.nvim_buf_delete(old, { force = true })
  end
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buffer, NAME)
  for number, each in ipairs(list) do
    vim.api.nvim_buf_set_lines(buffer, number - 1, -1, false, { each.text })
    for _, span in ipairs(each.spans) do
      vim.api.nvim_buf_set_extmark(buffer, namespace, number - 1, span[1], { end_col = span[2], hl_group = span[3] })
    end
  end
  vim.bo[buffer].modifiable, vim.bo[buffer].bufhidden = false, 'wipe'
  vim.cmd('botright split')
  vim.api.nvim_win_set_buf(0, buffer)
  for name, value in pairs(WINDOW) do
    vim.api.nvim_set_option_value(name, value, { win = 0, scope = 'local' })
  end
  vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = buffer, nowait = true, desc = 'Ullage: close' })
end

return M
