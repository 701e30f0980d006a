// Where the page is: a view and its parameters in the address, so that links and "back" work.

/** The address of a view. */
export function link(view, parameters = {}) {
  const given = Object.entries(parameters).filter(
    ([, value]) => value !== null && value !== undefined,
  );
  const query = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  return `#/${view}${query ? `?${query}` : ""}`;
}

/** The view and the parameters of an address. */
export function route(hash = location.hash) {
  const [view, query = ""] = hash.replace(/^#\/?/u, "").split(/\?(.*)/su);
  return { view, parameters: Object.fromEntries(new URLSearchParams(query)) };
}

/** Go to a view; `replace` leaves no trace in the history. */
export function go(view, parameters, { replace = false } = {}) {
  const address = link(view, parameters);
  if (address === location.hash) window.dispatchEvent(new HashChangeEvent("hashchange"));
  else if (replace) {
    history.replaceState(null, "", address);
    window.dispatchEvent(new HashChangeEvent("hashchange"));
  } else location.hash = address;
}
