-- Colours and figures of the lines on the screen. Nothing is stored for other lines.
local prose = require('ullage.context.prose')
local views = require('ullage.context.view')

local M = {}

local namespace = vim.api.nvim_create_namespace('ullage.context')

local function mark(buffer, line, column, options)
  options.ephemeral = true
  vim.api.nvim_buf_set_extmark(buffer, namespace, line, column, options)
end

---Returns what stands at the right edge of a row: the pin and the tokens.
---@param row ullage.Row
local function figures(row)
  local pieces = { row.pinned and { ' ● pinned ', 'UllagePinned' } or nil }
  if row.right then
    pieces[#pieces + 1] = { ('%6s '):format(row.right), row.item.archived and 'UllageArchived' or 'UllageTokens' }
  end
  return pieces
end

---Finds the colours of a row's Markdown. Only of rows that are drawn: a conversation may have thousands.
---@param row ullage.Row
local function colour(row)
  for _, span in ipairs(prose.markdown({ row.text:sub(row.marked + 1) })[1]) do
    row.spans[#row.spans + 1] = prose.shifted(span, row.marked)
  end
  row.marked = nil
end

local function draw(window, buffer, line)
  local row = views.by_buffer[buffer].rows[line + 1]
  if not row then return end
  if row.marked then colour(row) end
  for _, span in ipairs(row.spans) do
    mark(buffer, line, span[1], { end_col = span[2], hl_group = span[3], url = span.url, conceal = span.conceal })
  end
  local right = figures(row)
  if #right > 0 then
    mark(buffer, line, 0, { virt_text = right, virt_text_pos = 'right_align', hl_mode = 'combine' })
  end
  if row.section or (row.item and row.item.kind == 'archived') then
    local closed = vim.api.nvim_win_call(window, function() return vim.fn.foldclosed(line + 1) ~= -1 end)
    local sign = closed and '▸' or '▾'
    -- The heading of a section is indented.
    local column = row.section and 2 or 0
    mark(buffer, line, column, { virt_text = { { sign, 'UllageArchived' } }, virt_text_pos = 'overlay' })
  end
end

function M.setup()
  vim.api.nvim_set_decoration_provider(namespace, {
    on_win = function(_, _, buffer) return views.by_buffer[buffer] ~= nil end,
    on_line = function(_, window, buffer, line) draw(window, buffer, line) end,
  })
end

return M
