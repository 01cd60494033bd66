-- How a Neovim without a plugin talks to the server: the LSP client that it has
-- built in, one handler for the events, one request at a time.
local M = {
  patience = 20000, -- ms; bounds every wait, nothing is expected to take that long
  client = nil, -- the running vim.lsp.Client
  events = {}, -- all that this connection was told, in order
  ended = nil, -- code and signal of the server's process once it is gone
}

local modern = vim.fn.has('nvim-0.11') == 1 -- a client has methods since then, functions before
local seen = 0 -- events that next_event has looked at

function M.wait_for(what, condition)
  if not vim.wait(M.patience, condition, 5) then error('waited in vain for ' .. what, 0) end
end

--- Starts the server for the workspace and tells it of the current buffer.
function M.connect(server, model_url)
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  capabilities.experimental = { shiro = { protocolVersions = { 1 } } }
  M.events, M.ended, seen = {}, nil, 0
  local id = vim.lsp.start({
    name = 'shiro',
    cmd = { server },
    cmd_env = { SHIRO_BASE_URL = model_url },
    root_dir = vim.uv.cwd(),
    capabilities = capabilities,
    handlers = { ['shiro/event'] = function(_, event) table.insert(M.events, event) end },
    on_exit = function(code, signal) M.ended = { code = code, signal = signal } end,
  })
  M.client = assert(id and vim.lsp.get_client_by_id(id), 'the server could not be started')
  M.wait_for('initialize', function() return M.client.initialized or M.ended end)
  assert(M.client.initialized, 'the server did not start')
end

--- Sends a request and returns its result; an error of the server is thrown.
function M.call(method, params)
  local answer, why
  if modern then
    answer, why = M.client:request_sync(method, params, M.patience)
  else
    answer, why = M.client.request_sync(method, params, M.patience)
  end
  if not answer or answer.err then error(method .. ': ' .. vim.inspect(answer and answer.err or why), 0) end
  return answer.result
end

--- Waits for the next event of that type and returns its data.
function M.next_event(kind)
  local found
  M.wait_for(kind, function()
    while seen < #M.events and not found do
      seen = seen + 1
      if M.events[seen].type == kind then found = M.events[seen].data end
    end
    return found or M.ended
  end)
  return found or error('the server ended before ' .. kind, 0)
end

--- Returns the completed items that a test keeps, in order.
function M.completed(keep)
  local items = {}
  for _, event in ipairs(M.events) do
    if event.type == 'item.completed' and keep(event.data.item) then table.insert(items, event.data.item) end
  end
  return items
end

--- Returns the text of an item as its pieces joined, and how many they were.
function M.streamed(item)
  local text, pieces = '', 0
  for _, event in ipairs(M.events) do
    local delta = event.data
    if event.type == 'item.delta' and delta.itemId == item.id and delta.channel == 'text' then
      assert(delta.from == #text and delta.to == #text + #delta.text, 'a gap in the stream')
      text, pieces = text .. delta.text, pieces + 1
    end
  end
  return text, pieces
end

--- Asks the server to end.
function M.stop()
  if modern then
    M.client:stop()
  else
    M.client.stop()
  end
  M.wait_for('the end of the server', function() return M.ended end)
end

--- Ends the server as a crash would. Neovim tells no pid of a server: it is the
--- child that is not other.
function M.kill(other)
  local children = vim.api.nvim_get_proc_children(vim.fn.getpid())
  local servers = vim.tbl_filter(function(pid) return pid ~= other end, children)
  assert(#servers == 1, 'not one server runs')
  vim.uv.kill(servers[1], 'sigkill')
  M.wait_for('the end of the server', function() return M.ended and not vim.lsp.get_client_by_id(M.client.id) end)
end

return M
