-- Imports files one after the other, with the real server, and prints one JSON object: for each path the statusline's
-- text and the figures of the active session. ULLAGE_FILES is a file that holds a JSON list of paths.
-- nvim --clean --headless -l tests/figures.lua
local here = vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, 'S').source:sub(2)))
vim.opt.runtimepath:prepend(vim.fs.dirname(here))
vim.o.swapfile = false
vim.o.columns = 200
vim.g.ullage = { store = vim.env.ULLAGE_STORE }
vim.cmd('runtime plugin/ullage.lua')

-- Milliseconds: longer than an import takes on a busy machine.
local PATIENCE = 60000

local said = {}
vim.notify = function(text) said[#said + 1] = text end

---Returns the notification that ends an import.
local function ending()
  for _, text in ipairs(said) do
    if text:find('^Imported ') then return text end
  end
end

---Imports a file and waits until it was imported.
local function import(path)
  said = {}
  vim.cmd.Ullage({ args = { 'import', path } })
  assert(vim.wait(PATIENCE, ending, 5), ('waited in vain for %s: %s'):format(path, vim.inspect(said)))
end

local paths = vim.json.decode(table.concat(vim.fn.readfile(vim.env.ULLAGE_FILES), '\n'))
vim.iter(paths):each(import)
local shown = vim.empty_dict()
for _, path in ipairs(paths) do
  -- The second import changes nothing. It shows the session with what all imports have taught.
  import(path)
  local figures = require('ullage.session').figures
  shown[path] = {
    text = vim.api.nvim_eval_statusline("%{%v:lua.require'ullage'.statusline()%}", { maxwidth = 200 }).str,
    used = figures.used,
    size = figures.size or vim.NIL,
    percent = figures.percent or vim.NIL,
    source = figures.source,
    threshold = figures.compact_at or vim.NIL,
  }
end
io.stdout:write(vim.json.encode(shown) .. '\n')
vim.cmd('qall!')
