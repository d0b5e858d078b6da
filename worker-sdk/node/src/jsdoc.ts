// Contracts from the comments before a module's functions: `@param {{ amount: number }} price`, `@returns {number}` and the like.
// What the author says in options comes before.

import type { FunctionOptions, JsonSchema } from './contract.js'
import { type Named, objectOf, typeOf } from './jsdoc-types.js'

/** What stands right behind a comment that describes a function. */
const FUNCTION =
  /^\s*(?:\/\/[^\n]*\n\s*)*(?:export\s+)?(?:(default)\s+)?(?:async\s+)?function\b\s*\*?\s*([\w$]*)|^\s*(?:\/\/[^\n]*\n\s*)*(?:export\s+)?(?:const|let|var)\s+([\w$]+)|^\s*(?:module\.)?exports\.([\w$]+)\s*=/
const TAG = /^@(\w+)\s*/

interface Tag {
  name: string
  type: string | undefined
  rest: string
}

interface Comment {
  summary: string
  tags: Tag[]
}

/** By the names of functions, exported or not. */
export function described(source: string): Map<string, FunctionOptions> {
  const found = new Map<string, FunctionOptions>()
  if (!source.includes('/**')) return found
  const comments = [...commentsIn(source)]
  const named = definitions(comments.map(({ comment }) => comment))
  for (const { comment, behind } of comments) {
    const match = FUNCTION.exec(behind)
    const name = match && (match[1] ?? match[2] ?? match[3] ?? match[4])
    if (name) found.set(name, optionsFrom(comment, named))
  }
  return found
}

/** Where a text such as `src/**` looks like a beginning, the last one before an end counts. */
function* commentsIn(source: string): Generator<{ comment: Comment; behind: string }> {
  let before = 0
  for (let end = source.indexOf('*/'); end >= 0; end = source.indexOf('*/', before)) {
    const begin = source.lastIndexOf('/**', end - 1)
    if (begin >= before && begin + 3 <= end)
      yield { comment: read(source.slice(begin + 3, end)), behind: source.slice(end + 2, end + 400) }
    before = end + 2
  }
}

function read(text: string): Comment {
  const lines = text.split('\n').map((line) => line.replace(/^\s*\* ?/, '').trimEnd())
  const summary: string[] = []
  const tags: string[] = []
  for (const line of lines) {
    if (TAG.test(line.trim())) tags.push(line.trim())
    else if (tags.length > 0) tags[tags.length - 1] += `\n${line}`
    else summary.push(line.trim())
  }
  return { summary: summary.find((line) => line !== '') ?? '', tags: tags.map(tagOf) }
}

function tagOf(text: string): Tag {
  const name = (TAG.exec(text) as RegExpExecArray)[1] as string
  const behind = text.replace(TAG, '')
  const end = behind.startsWith('{') ? closing(behind) : 0
  return {
    name,
    type: end > 0 ? behind.slice(1, end) : undefined,
    rest: end > 0 ? behind.slice(end + 1).trim() : behind.trim(),
  }
}

function closing(text: string): number {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '{') depth++
    else if (text[at] === '}' && --depth === 0) return at
  }
  return 0
}

/** `@typedef`s, which may name those before them. */
function definitions(comments: readonly Comment[]): Named {
  const named = new Map<string, JsonSchema>()
  for (const { tags } of comments) {
    const typedef = tags.find((tag) => tag.name === 'typedef')
    const name = typedef?.rest.split(/\s/)[0]
    if (typedef === undefined || !name) continue
    const properties = tags.filter((tag) => tag.name === 'property' || tag.name === 'prop')
    const isObject = properties.length > 0
    named.set(name, isObject ? fields(properties, named) : typeOf(typedef.type ?? '*', named).schema)
  }
  return named
}

function optionsFrom({ summary, tags }: Comment, named: Named): FunctionOptions {
  const options: FunctionOptions = {}
  if (summary !== '') options.summary = summary
  const input = inputFrom(tags, named)
  if (input !== undefined) options.input = input
  for (const { name, type, rest } of tags) {
    if (type !== undefined && (name === 'returns' || name === 'return' || name === 'yields')) {
      const { schema, isStream } = typeOf(type, named)
      if (isStream) options.kind = 'stream'
      if (Object.keys(schema).length > 0) options.output = schema
    } else if (name === 'inputs') options.inputs = typeOf(type ?? '*', named).schema
    else if (name === 'idempotent') options.idempotent = true
    else if (name === 'timeout') options.timeout = rest
  }
  return options
}

/** The first parameter is the input; tags such as `price.amount` say what it is made of. */
function inputFrom(tags: readonly Tag[], named: Named): JsonSchema | undefined {
  const params = tags.filter((tag) => tag.name === 'param' && tag.type !== undefined)
  const [first] = params
  if (first === undefined) return undefined
  const { name, optional } = nameIn(first.rest)
  if (name === 'context') return undefined
  const parts = params.slice(1).filter((tag) => nameIn(tag.rest).name.startsWith(`${name}.`))
  const schema = parts.length > 0 ? fields(parts, named, `${name}.`) : typeOf(first.type as string, named).schema
  if (Object.keys(schema).length === 0) return undefined
  return optional || first.type?.endsWith('=') ? { anyOf: [schema, { type: 'null' }] } : schema
}

/** Fields of a map, each of which may have fields of its own further down. */
function fields(tags: readonly Tag[], named: Named, prefix = ''): JsonSchema {
  const properties: Record<string, JsonSchema> = {}
  const required: string[] = []
  for (const tag of tags) {
    const { name: whole, optional, text } = nameIn(tag.rest)
    const name = whole.slice(prefix.length)
    if (!whole.startsWith(prefix) || name.includes('.')) continue
    const inner = tags.filter((other) => nameIn(other.rest).name.startsWith(`${whole}.`))
    const schema = inner.length > 0 ? fields(inner, named, `${whole}.`) : typeOf(tag.type ?? '*', named).schema
    properties[name] = text === '' ? schema : { ...schema, description: text }
    if (!optional && !tag.type?.endsWith('=')) required.push(name)
  }
  return objectOf(properties, required)
}

/** `name`, `[name]` or `[name=default]`, then what is said of it. */
function nameIn(rest: string): { name: string; optional: boolean; text: string } {
  const bracketed = /^\[\s*([^\]=\s]+)[^\]]*\]/.exec(rest)
  const name = bracketed?.[1] ?? /^\S*/.exec(rest)?.[0] ?? ''
  const text = rest.slice(bracketed?.[0].length ?? name.length)
  return {
    name,
    optional: bracketed !== null,
    text: text
      .replace(/^\s*-?\s*/, '')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  }
}
