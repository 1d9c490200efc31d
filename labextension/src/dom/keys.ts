// Keys of the dashboard. What is used here must not reach the notebook: there, ArrowDown moves and x cuts a cell.

export interface KeyActions {
  batch: (step: number) => void;
  query: (step: number) => void;
  live: () => void;
}

const STEPS: Record<string, (actions: KeyActions) => void> = {
  ArrowLeft: (actions) => actions.batch(-1),
  ArrowRight: (actions) => actions.batch(1),
  PageUp: (actions) => actions.batch(-10),
  PageDown: (actions) => actions.batch(10),
  Home: (actions) => actions.batch(-Infinity),
  End: (actions) => actions.batch(Infinity),
  ArrowUp: (actions) => actions.query(-1),
  ArrowDown: (actions) => actions.query(1),
  Escape: (actions) => actions.live(),
};

/** Acts on a key press inside the dashboard, and keeps from the notebook every key that it could take for its own. */
export function handleKey(event: KeyboardEvent, actions: KeyActions): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return; // saving, copying, the browser's own
  event.stopPropagation();
  const target = event.target instanceof Element ? event.target : null;
  if (event.key === "Enter" && target?.getAttribute("role") === "row") {
    event.preventDefault();
    (target as HTMLElement).click();
    return;
  }
  const step = STEPS[event.key];
  if (!step || event.shiftKey || target?.closest("pre, a")) return;
  event.preventDefault();
  step(actions);
}
