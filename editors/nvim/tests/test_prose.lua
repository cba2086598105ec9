-- Markdown is coloured by Neovim's own parser, and its marks are hidden. Needs no server.
local eq = MiniTest.expect.equality
local prose = require('ullage.context.prose')

local T = MiniTest.new_set()

---Returns the parts of a line that are shown, without those that are hidden.
local function shown(line)
  local hidden, kept = {}, {}
  for _, span in ipairs(prose.markdown({ line })[1]) do
    for at = span[1] + 1, span.conceal and span[2] or 0 do
      hidden[at] = true
    end
  end
  for at = 1, #line do
    kept[#kept + 1] = not hidden[at] and line:sub(at, at) or nil
  end
  return table.concat(kept)
end

---Returns the groups of the parts that have a text.
local function groups(lines, number, text)
  local found = {}
  for _, span in ipairs(prose.markdown(lines)[number]) do
    if lines[number]:sub(span[1] + 1, span[2]) == text then found[#found + 1] = span[3] end
  end
  return found
end

T['marks are hidden by the rules of Markdown'] = MiniTest.new_set({
  parametrize = {
    { 'All **done** and `code`', 'All done and code' },
    { 'a pattern `**/*.lua` in code', 'a pattern **/*.lua in code' },
    { 'snake_case_name stays', 'snake_case_name stays' },
    { 'see [the notes](https://example.org/n)', 'see the notes' },
  },
})
T['marks are hidden by the rules of Markdown']['in a line'] = function(line, text) eq(shown(line), text) end

T['headings, code and lists have the groups of the colour scheme'] = function()
  local lines = { '# Title', '', '- one', '', '```lua', 'local x = 1', '```' }
  eq(vim.tbl_contains(groups(lines, 1, '# Title'), '@markup.heading.1.markdown'), true)
  eq(vim.tbl_contains(groups(lines, 3, '-'), '@markup.list.markdown') or #groups(lines, 3, '- ') > 0, true)
  eq(vim.tbl_contains(groups(lines, 6, 'local'), '@keyword.lua'), true)
end

T['only addresses of pages and mailboxes can be opened'] = function()
  local function url(address)
    for _, span in ipairs(prose.markdown({ ('[a](%s)'):format(address) })[1]) do
      if span.url then return span.url end
    end
  end
  eq({ url('https://example.org/a'), url('mailto:a@example.org') }, { 'https://example.org/a', 'mailto:a@example.org' })
  for _, address in ipairs({ 'file:///tmp/run.desktop', 'javascript:x', 'vscode://x', '/tmp/run.desktop' }) do
    eq(url(address), nil)
  end
end

T['without a parser the text is as it was written'] = function()
  local get = vim.treesitter.get_string_parser
  MiniTest.finally(function() vim.treesitter.get_string_parser = get end)
  vim.treesitter.get_string_parser = function() error('no parser') end
  eq(prose.markdown({ '# a', '**b**' }), { {}, {} })
end

T['a terminal’s colours and control characters are left out'] = function()
  eq(prose.printable('\27[31mred\27[0m\tand\rmore'), 'red    and more')
end

return T
