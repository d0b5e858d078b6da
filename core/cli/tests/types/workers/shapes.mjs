// What schemas say that Python's hints do not.

export const ganger = {
  functions: {
    rotate: {
      summary: 'Turns a shape.\n\nOnce around is nothing.',
      input: {
        $ref: '#/$defs/shape',
        $defs: {
          shape: {
            oneOf: [
              { type: 'object', properties: { kind: { const: 'circle' }, radius: { type: 'number' } }, required: ['kind', 'radius'] },
              { type: 'object', properties: { kind: { const: 'group' }, 'of-what': { type: 'array', items: { $ref: '#/$defs/shape' } } }, required: ['kind'] },
            ],
          },
        },
      },
      output: { type: 'object', additionalProperties: { type: ['number', 'null'] } },
    },
    measure: {
      input: {
        type: 'object',
        properties: {
          width: { type: 'integer', description: 'In pixels.', default: 640 },
          big: { type: 'integer', format: 'int64' },
          unit: { enum: ['px', 'em', 3, null] },
          at: { type: 'string', format: 'date-time' },
          image: { type: 'string', format: 'binary' },
          corner: { type: 'array', prefixItems: [{ type: 'number' }, { type: 'number' }], minItems: 2, items: { type: 'string' } },
          'with space': { allOf: [{ properties: { a: { type: 'string' } }, required: ['a'] }, { properties: { b: { nullable: true, type: 'string' } } }] },
        },
        required: ['unit'],
      },
    },
    corners: {
      kind: 'stream',
      input: { type: 'object', properties: { sides: { type: 'integer' }, open: { type: 'boolean' } }, required: ['sides'] },
      output: { type: 'array', prefixItems: [{ type: 'number' }, { type: 'number' }], minItems: 2, maxItems: 2 },
    },
    untold: {},
  },
}

export const rotate = () => ({})
export const measure = () => null
export async function* corners({ sides }) {
  for (let at = 0; at < sides; at++) yield [at, 0]
}
export const untold = (input) => input
