// The app's trace context, if it uses OpenTelemetry. Its API registers itself globally, so that nobody needs to depend on it.

const REGISTRY = Symbol.for('opentelemetry.js.api.1')

/** The parts of the registry that matter here. */
interface Registry {
  readonly context?: { active(): unknown }
  readonly propagation?: { inject(context: unknown, carrier: Trace, setter: Setter): void }
}

type Trace = Record<string, string>

interface Setter {
  set(carrier: Trace, name: string, value: string): void
}

const setter: Setter = {
  set(carrier, name, value) {
    carrier[name] = value
  },
}

/** What the app's propagators make of the active context: `traceparent`, `tracestate`, `baggage`. Undefined if there is none. */
export function activeTrace(): Trace | undefined {
  const registry = (globalThis as { [REGISTRY]?: Registry })[REGISTRY]
  if (registry?.context === undefined || registry.propagation === undefined) return undefined
  const trace: Trace = {}
  try {
    registry.propagation.inject(registry.context.active(), trace, setter)
  } catch {
    // A call must not fail because its trace does.
    return undefined
  }
  for (const _ in trace) return trace
  return undefined
}
