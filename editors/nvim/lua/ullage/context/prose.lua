-- Text that is opened in place. Neovim's parser of Markdown colours it, and hides its marks; the window wraps it.
local M = {}

---@class ullage.Span a part of a line, in bytes
---@field [1] integer first byte
---@field [2] integer end, exclusive
---@field [3] string? highlight group
---@field conceal? string what is shown in its place
---@field url? string what the part links to

---Returns a line without characters that a buffer cannot show as they are.
function M.printable(line) return (line:gsub('\27%[[%d;?]*%a', ''):gsub('\t', '    '):gsub('%c', ' ')) end

---Returns the address of a link, if it is that of a page or a mailbox. Others could have the system run a file of a foreign
---folder.
---@param node TSNode
local function address(node, text)
  for child in node:iter_children() do
    local url = child:type() == 'link_destination' and vim.treesitter.get_node_text(child, text)
    if url and (url:find('^https?://') or url:find('^mailto:')) then return url end
  end
end

---Returns the coloured parts of each line of a Markdown text. Where Neovim has no parser there are none.
---@return ullage.Span[][]
function M.markdown(lines)
  local text, spans = table.concat(lines, '\n'), {}
  for number in ipairs(lines) do
    spans[number] = {}
  end
  local fine, parser = pcall(vim.treesitter.get_string_parser, text, 'markdown')
  if not fine then return spans end
  parser:parse(true)
  parser:for_each_tree(function(tree, part)
    local query = vim.treesitter.query.get(part:lang(), 'highlights')
    for id, node, metadata in (query and query:iter_captures(tree:root(), text) or function() end) do
      local name, own = query.captures[id], metadata[id] or {}
      local span = {
        group = not name:find('^_') and name ~= 'spell' and ('@%s.%s'):format(name, part:lang()) or nil,
        conceal = own.conceal or metadata.conceal,
        url = node:type() == 'inline_link' and address(node, text) or nil,
      }
      local first, from, last, to = node:range()
      for row = first, math.min(last, #lines - 1) do
        local start, stop = row == first and from or 0, row == last and to or #lines[row + 1]
        if start < stop and next(span) then
          table.insert(spans[row + 1], { start, stop, span.group, conceal = span.conceal, url = span.url })
        end
      end
    end
  end)
  return spans
end

---Returns a span at another place of a longer line.
---@param span ullage.Span
---@param bytes integer by which it moves
---@return ullage.Span
function M.shifted(span, bytes)
  return { span[1] + bytes, span[2] + bytes, span[3], conceal = span.conceal, url = span.url }
end

return M
